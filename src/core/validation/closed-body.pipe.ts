import { ValidBody } from './valid-body.pipe';

/** A body that may contain only declared fields: a misspelled setting must not be ignored. */
export class ClosedBody<Dto extends object> extends ValidBody<Dto> {
  constructor(dto: new () => Dto) {
    super(dto, { closed: true });
  }
}
