/** `1 model`, `2 models`. @param noun with a regular plural */
export function countOf(count: number | bigint, noun: string): string {
  return `${count} ${noun}${count === 1 || count === 1n ? '' : 's'}`;
}
