import 'reflect-metadata';
import { addRouteConfig } from './route-config';

const KEY = 'route-config-of-this-test';

class Controller {
  @addRouteConfig(KEY, { first: 1 })
  @addRouteConfig(KEY, { second: 2 })
  handle(): void {
    return;
  }

  other(): void {
    return;
  }
}

it('keeps what every decorator of a method adds, and gives it to no other method', () => {
  const configOf = (name: 'handle' | 'other'): unknown =>
    Reflect.getMetadata(KEY, Object.getOwnPropertyDescriptor(Controller.prototype, name)?.value as object);
  expect(configOf('handle')).toEqual({ first: 1, second: 2 });
  expect(configOf('other')).toBeUndefined();
});
