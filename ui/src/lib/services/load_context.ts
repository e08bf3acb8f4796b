import { number } from '$lib/services/format';
import type { LoadPlan } from '$lib/services/load_calls';
import { text } from '$lib/text';

/** How long the context of a load can be, in words: the memory limits it, or what the model was made for. */

type Context = NonNullable<LoadPlan['context']>;

/** What is known of a value; a warning if it is not in force as a whole, or does not fit. */
export interface FieldNote {
	words: string;
	isWarning: boolean;
}

/** Whether the memory has room for all that the model was made for, in one request or in `atOnce` requests that share it. */
function isWhole({ largest, madeFor }: Context, atOnce: number): boolean {
	return largest === madeFor || largest === madeFor * atOnce;
}

/** The note at the field of the context; undefined if nothing is known. `atOnce`: the requests of a replica at once. */
export function contextNote(context: Context, atOnce: number): FieldNote | undefined {
	const { reason, largest, madeFor, requested } = context;
	if (reason !== null) return { words: reason, isWarning: true };
	if (largest === null) return undefined;
	if (!isWhole(context, atOnce)) return { words: text.load.largestNow(number(largest)), isWarning: requested > largest };
	const words = largest === madeFor ? text.load.madeFor(number(madeFor)) : text.load.madeForEach(number(madeFor), atOnce);
	return { words, isWarning: false };
}

/** The label of the preset with the largest context; undefined if none is known to fit. */
export function largestInWords(context: Context, atOnce: number): string | undefined {
	if (!context.largest) return undefined;
	return (isWhole(context, atOnce) ? text.load.whole : text.load.largest)(number(context.largest));
}
