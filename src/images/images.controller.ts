import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../core/http/answer';
import { ValidBody } from '../core/validation/valid-body.pipe';
import { Idempotent, Modality, Spends, TakesForm } from '../core/http/route.decorators';
import { ImageRequestDto, MAX_IMAGES } from './dto/image-request.dto';
import { type ImageEdit, ValidImageEdit } from './image-edit.pipe';
import { ImagesService } from './images.service';

@Controller('v1/images')
export class ImagesController {
  constructor(private readonly images: ImagesService) {}

  @Post('generations')
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('image')
  createImage(
    @Body(new ValidBody(ImageRequestDto)) body: ImageRequestDto,
    @Req() { context }: FastifyRequest,
  ): Promise<Answer> {
    return this.images.create(body, context);
  }

  @Post('edits')
  @HttpCode(200)
  @Idempotent()
  @Spends()
  @Modality('image')
  @TakesForm({ files: { image: MAX_IMAGES, mask: 1 }, json: true })
  createImageEdit(@Body(new ValidImageEdit()) edit: ImageEdit, @Req() { context }: FastifyRequest): Promise<Answer> {
    return this.images.edit(edit, context);
  }
}
