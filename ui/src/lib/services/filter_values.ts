/** The values of an API's filters in an address, and in the fields of a form: times are instants (ISO 8601, UTC) there. */

/** A time of this browser's zone as one of UTC; empty if it is none. */
export function instantOf(local: string): string {
	const at = new Date(local);
	return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

/** An instant as a field for times has it, in this browser's zone; empty if it is none. */
export function localTime(instant: string): string {
	const at = new Date(instant);
	if (Number.isNaN(at.getTime())) return '';
	return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The names of the filters that are times. */
export const TIMES: readonly string[] = ['since', 'until'];

/** The filters that have a value; a time that is none is left out. */
export function givenFilters(values: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(values).filter(([name, value]) => (TIMES.includes(name) ? instantOf(value) : value)));
}

const LONGEST_PLACE = 256;

/** The record behind which the page of an address begins (`?after=`), as the API names it; undefined: the first page. */
export function placeOf(address: string): string | undefined {
	return new URLSearchParams(address).get('after')?.slice(0, LONGEST_PLACE) || undefined;
}
