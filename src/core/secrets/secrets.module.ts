import { Module } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { SecretBox } from './secret-box';
import { resolveSecretsKeys } from './service-secrets';

/** The box of `SECRETS_KEY`. */
@Module({
  providers: [
    {
      provide: SecretBox,
      inject: [APP_CONFIG],
      useFactory: (config: AppConfig) => new SecretBox(resolveSecretsKeys(config)),
    },
  ],
  exports: [SecretBox],
})
export class SecretsModule {}
