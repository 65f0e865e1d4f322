/** A receipt's id as people see and type it. */
export function receiptName(id: number): string {
  return `rcp_${id}`;
}
