import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent } from '../auth/idempotency/idempotent.decorator';
import { Spends } from '../auth/rate-limits/spends.decorator';
import { TakesForm } from '../core/http/takes-form.decorator';
import { MAX_IMAGES } from './dto/image-fields.dto';
import { ImageRequestDto } from './dto/image-request.dto';
import { type ImageEdit, ValidImageEdit } from './image-edit.pipe';
import { ImagesService } from './images.service';

@Controller('v1/images')
export class ImagesController {
  constructor(private readonly images: ImagesService) {}

  @Post('generations')
  @HttpCode(200)
  @Idempotent()
  @Spends()
  createImage(
    @Body(new ValidBody(ImageRequestDto)) body: ImageRequestDto,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.images.create(body, request.context, reply);
  }

  @Post('edits')
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @TakesForm({ files: { image: MAX_IMAGES, mask: 1 }, json: true })
  createImageEdit(
    @Body(new ValidImageEdit()) edit: ImageEdit,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.images.edit(edit, request.context, reply);
  }
}
