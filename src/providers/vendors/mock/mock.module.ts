import { Module } from '@nestjs/common';
import { MockMediaBasicProvider, MockMediaProvider, MockMediaSyncProvider } from './mock-media.provider';
import { MockProvider } from './mock.provider';

/** The providers inside the process (README). */
@Module({ providers: [MockProvider, MockMediaProvider, MockMediaBasicProvider, MockMediaSyncProvider] })
export class MockModule {}
