import { ValidBody } from './valid-body.pipe';

/** A body that may hold nothing but what its DTO declares: a misspelled setting must not pass for one that was not given. */
export class ClosedBody<Dto extends object> extends ValidBody<Dto> {
  constructor(dto: new () => Dto) {
    super(dto, { closed: true });
  }
}
