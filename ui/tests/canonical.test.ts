import { expect, test } from 'vitest';
import { canonical, NotCanonical } from '../src/lib/services/canonical';
import { vectors } from './vectors';

test('the canonical form is that of the platform', () => {
	expect(vectors.forms.map(({ value }) => canonical(value))).toEqual(vectors.forms.map((form) => form.canonical));
});

test('a value without a canonical form is refused', () => {
	for (const value of [2 ** 53, -(2 ** 53), NaN, Infinity, '\ud800', { '\udc00': 1 }, undefined, [undefined], 1n]) {
		expect(() => canonical(value)).toThrow(NotCanonical);
	}
});
