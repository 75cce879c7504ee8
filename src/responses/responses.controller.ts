import { Body, Controller, Delete, Get, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { GatewayError } from '../core/errors/gateway-error';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends } from '../core/http/route.decorators';
import { ResponseRequestDto } from './dto/response-request.dto';
import { ResponsesService } from './responses.service';

@Controller('v1/responses')
export class ResponsesController {
  constructor(private readonly responses: ResponsesService) {}

  @Post()
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('text')
  createResponse(
    @Body(new ValidBody(ResponseRequestDto)) body: ResponseRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.responses.answer(body, context);
  }

  @Get(':id')
  getResponse(): never {
    throw notStored();
  }

  @Delete(':id')
  deleteResponse(): never {
    throw notStored();
  }
}

/** Operations on stored responses, which this gateway does not keep. */
function notStored(): GatewayError {
  const message = 'Responses are not stored and cannot be retrieved or deleted by id.';
  return new GatewayError('validation_failed', message, { param: 'id' });
}
