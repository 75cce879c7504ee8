/** Tests read fields of every event type. */
export type ResponseEvent = any; // eslint-disable-line typescript/no-explicit-any

/** Rebuilds the output as a client does; fails on events that refer to a missing or completed item. */
export function rebuild(events: readonly ResponseEvent[]): ResponseEvent[] {
  const output: ResponseEvent[] = [];
  const open = new Set<number>();
  const openParts = new Set<ResponseEvent>();
  const itemOf = ({ output_index: index, item_id: id }: ResponseEvent): ResponseEvent => {
    expect(open.has(index)).toBe(true);
    expect(output[index].id).toBe(id);
    return output[index];
  };
  const partOf = (event: ResponseEvent): ResponseEvent => {
    const part = itemOf(event).content[event.content_index];
    expect(openParts.has(part)).toBe(true);
    return part;
  };
  const handlers: Record<string, (event: ResponseEvent) => void> = {
    'response.output_item.added': ({ output_index: index, item }) => {
      expect(index).toBe(output.length);
      expect(item.status).toBe('in_progress');
      output.push(item);
      open.add(index);
    },
    'response.content_part.added': (event) => {
      const { content } = itemOf(event);
      expect([event.content_index, openParts.size]).toEqual([content.length, 0]);
      content.push(event.part);
      openParts.add(event.part);
    },
    'response.output_text.delta': (event) => void (partOf(event).text += event.delta),
    'response.output_text.annotation.added': (event) => {
      const { annotations } = partOf(event);
      expect(event.annotation_index).toBe(annotations.length);
      annotations.push(event.annotation);
    },
    'response.refusal.delta': (event) => void (partOf(event).refusal += event.delta),
    'response.function_call_arguments.delta': (event) => void (itemOf(event).arguments += event.delta),
    'response.custom_tool_call_input.delta': (event) => void (itemOf(event).input += event.delta),
    'response.custom_tool_call_input.done': (event) => expect(itemOf(event).input).toBe(event.input),
    'response.output_text.done': (event) => expect(partOf(event).text).toBe(event.text),
    'response.refusal.done': (event) => expect(partOf(event).refusal).toBe(event.refusal),
    'response.function_call_arguments.done': (event) => {
      expect(itemOf(event)).toMatchObject({ name: event.name, arguments: event.arguments });
    },
    'response.content_part.done': (event) => {
      const part = partOf(event);
      expect(part).toEqual(event.part);
      openParts.delete(part);
    },
    'response.output_item.done': ({ output_index: index, item }) => {
      expect({ ...output[index], status: item.status }).toEqual(item);
      expect(open.delete(index)).toBe(true);
      expect(output[index].content?.some((part: ResponseEvent) => openParts.has(part))).not.toBe(true);
      output[index] = item;
    },
  };
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  for (const event of events.slice(2, -1)) handlers[event.type]?.(event);
  expect(open.size).toBe(0);
  expect(new Set(output.map(({ id }) => id)).size).toBe(output.length);
  return output;
}
