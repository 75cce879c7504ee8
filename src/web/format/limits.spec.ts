import { lowestLimit } from './limits';

it('the lowest limit applies, and zero is a limit', () => {
  expect([lowestLimit([5, null, 3]), lowestLimit([null, 0]), lowestLimit([null, null])]).toEqual([3, 0, null]);
});
