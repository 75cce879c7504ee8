import { Module } from '@nestjs/common';
import { InferenceModule } from '../inference/inference.module';
import { ModelsModule } from '../models/models.module';
import { OutboundModule } from '../core/outbound/outbound.module';
import { ChatController } from './chat.controller';
import { ChatInference, ChatService } from './chat.service';

/** Text generation in the chat-completions wire format. */
@Module({
  imports: [InferenceModule, ModelsModule, OutboundModule],
  controllers: [ChatController],
  providers: [ChatService, ChatInference],
  exports: [ChatInference, ChatService],
})
export class ChatModule {}
