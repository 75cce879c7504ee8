import { MultipartForm } from '../core/types/multipart-form';
import { ValidImageEdit } from './image-edit.pipe';

it('reads the numbers of a form', () => {
  const texts = { prompt: 'a lighthouse', model: 'openai/gpt-image-2', n: '2', output_compression: '60' };
  const fields = new Map(Object.entries(texts).map(([name, text]) => [name, [text]]));
  const { body } = new ValidImageEdit().transform(new MultipartForm(fields, []));
  expect(body).toMatchObject({ n: 2, output_compression: 60 });
});
