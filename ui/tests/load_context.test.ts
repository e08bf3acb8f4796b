import { expect, test } from 'vitest';
import { contextNote, largestInWords } from '../src/lib/services/load_context';

const CONTEXT = { field: 'n_ctx', requested: 1_024, inForce: 1_024, reason: null, madeFor: 4_096, largest: 2_048 };
const AT_ONCE = 4;

test('the memory is named as the limit only where the model was made for more', () => {
	expect(contextNote(CONTEXT, AT_ONCE)).toEqual({ words: 'Up to 2,048 fit into the memory now.', isWarning: false });
	expect(contextNote({ ...CONTEXT, requested: 4_096 }, AT_ONCE)?.isWarning).toBe(true);
	expect(largestInWords(CONTEXT, AT_ONCE)).toBe('Largest context that fits: 2,048');
	const whole = { ...CONTEXT, largest: 4_096 };
	expect(contextNote(whole, AT_ONCE)).toEqual({ words: 'The model was made for 4,096 tokens; they fit.', isWarning: false });
	expect(largestInWords(whole, AT_ONCE)).toBe('Largest context of the model: 4,096');
});

test('a context that requests at once share is whole with that of all of them', () => {
	const shared = { ...CONTEXT, largest: 16_384 };
	expect(contextNote(shared, AT_ONCE)).toEqual({
		words: 'The model was made for 4,096 tokens; those of 4 requests at once fit.',
		isWarning: false
	});
	expect(largestInWords(shared, AT_ONCE)).toBe('Largest context of the model: 16,384');
	expect(largestInWords({ ...CONTEXT, largest: 12_288 }, AT_ONCE)).toBe('Largest context that fits: 12,288');
});

test('a context that is not in force as a whole has its reason, and one that is not known nothing', () => {
	expect(contextNote({ ...CONTEXT, reason: 'made for 4096' }, AT_ONCE)).toEqual({ words: 'made for 4096', isWarning: true });
	expect([contextNote({ ...CONTEXT, largest: null }, AT_ONCE), largestInWords({ ...CONTEXT, largest: null }, AT_ONCE)]).toEqual([undefined, undefined]);
});
