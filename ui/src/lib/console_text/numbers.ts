/** A count with a comma between the thousands. */
export function grouped(count: number): string {
	return count.toLocaleString('en-GB');
}
