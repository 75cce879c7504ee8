import { Module } from '@nestjs/common';
import { ChatModule } from '../chat/chat.module';
import { ResponsesController } from './responses.controller';
import { ResponsesService } from './responses.service';

/**
 * The Responses-style way into chat (contract 4.2.1): `to-chat-request.ts` maps the request, `response-format.ts` the
 * answer, and everything between them is chat's. Nothing is stored.
 */
@Module({
  imports: [ChatModule],
  controllers: [ResponsesController],
  providers: [ResponsesService],
  exports: [ResponsesService],
})
export class ResponsesModule {}
