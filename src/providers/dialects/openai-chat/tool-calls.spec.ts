import { ToolCallDeltas } from './tool-calls';

function normalizeAll(...deltas: object[]): { calls: object[]; bytes: number } {
  const state = new ToolCallDeltas();
  const results = deltas.map((delta) => state.normalize([delta]));
  return { calls: results.flatMap(({ calls }) => calls), bytes: results.reduce((sum, { bytes }) => sum + bytes, 0) };
}

const start = (index: number, id: string, name: string, text = '') => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: text },
});
const more = (index: number, text: string) => ({ index, function: { arguments: text } });

describe('ToolCallDeltas', () => {
  it('does not change a well-formed stream', () => {
    const deltas = [start(0, 'a', 'f'), more(0, '{"x"'), more(0, ':1}'), start(1, 'b', 'g'), more(1, '{}')];
    expect(normalizeAll(...deltas)).toEqual({ calls: deltas, bytes: 9 });
  });

  it('assigns indexes by first appearance of the id when the upstream sends none', () => {
    const { calls } = normalizeAll(
      { id: 'a', function: { name: 'f', arguments: '1' } },
      { id: 'b', function: { name: 'g' } },
      { id: 'a', function: { arguments: '2' } },
      { function: { arguments: '3' } },
    );
    expect(calls).toEqual([start(0, 'a', 'f', '1'), start(1, 'b', 'g'), more(0, '2'), more(1, '3')]);
  });

  it('separates parallel calls that all claim index 0', () => {
    const { calls } = normalizeAll(start(0, 'a', 'f', '{}'), start(0, 'b', 'g'), more(0, '{}'));
    expect(calls).toEqual([start(0, 'a', 'f', '{}'), start(1, 'b', 'g'), more(1, '{}')]);
  });

  it('separates parallel calls of one id that have indexes of their own', () => {
    const deltas = [start(0, 'f', 'f', '{"x"'), start(1, 'f', 'f', '{"x"'), more(0, ':1}'), more(1, ':2}')];
    expect(normalizeAll(...deltas).calls).toEqual(deltas);
    const repeating = [start(0, 'f', 'f', '{"x"'), start(1, 'f', 'f', '{"x"'), start(1, 'f', 'f', ':2}')];
    expect(normalizeAll(...repeating).calls).toEqual([...deltas.slice(0, 2), more(1, ':2}')]);
  });

  it('generates a missing id', () => {
    const { calls } = normalizeAll({ index: 0, id: '', function: { name: 'f', arguments: '' } }, more(0, '{}'));
    expect(calls).toEqual([start(0, expect.stringMatching(/^call_.{24}$/) as unknown as string, 'f'), more(0, '{}')]);
  });

  it('does not repeat name, id and type', () => {
    const { calls } = normalizeAll(start(0, 'a', 'f'), start(0, 'a', 'f', '{}'), start(0, 'a', '', 'x'));
    expect(calls).toEqual([start(0, 'a', 'f'), more(0, '{}'), more(0, 'x')]);
  });

  it('buffers a call until it has a name', () => {
    const { calls, bytes } = normalizeAll({ index: 0, id: 'a' }, more(0, '{'), {
      index: 0,
      function: { name: 'f', arguments: '}' },
    });
    expect(calls).toEqual([start(0, 'a', 'f', '{}')]);
    expect(bytes).toBe(2);
  });

  it('serializes arguments of any type as text', () => {
    const { calls } = normalizeAll(
      { index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } },
      {
        index: 0,
        function: { arguments: null },
      },
    );
    expect(calls).toEqual([start(0, 'a', 'f', '{"x":1}'), more(0, '')]);
  });

  it('ignores deltas that are not objects', () => {
    expect(new ToolCallDeltas().normalize([null, 5, 'x', []])).toEqual({ calls: [], bytes: 0 });
  });
});
