import { expect, test } from 'vitest';
import { duration } from '../src/lib/services/duration';

test.each([
	[0, '0 s'],
	[59.9, '59 s'],
	[60, '1 min'],
	[245, '4 min 5 s'],
	[183_600, '2 d 3 h'],
	[-3, '0 s']
])('a duration of %d seconds is %s', (seconds, words) => {
	expect(duration(seconds)).toBe(words);
});
