import { Module } from '@nestjs/common';
import { ChatModule } from '../chat/chat.module';
import { ResponsesController } from './responses.controller';
import { ResponsesService } from './responses.service';

/**
 * The Responses API on top of chat: `to-chat-request.ts` translates the request, `response-format.ts` the reply.
 * Responses are not stored.
 */
@Module({
  imports: [ChatModule],
  controllers: [ResponsesController],
  providers: [ResponsesService],
  exports: [ResponsesService],
})
export class ResponsesModule {}
