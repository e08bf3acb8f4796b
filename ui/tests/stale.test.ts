import { describe, expect, it } from 'vitest';
import { ApiProblem } from '$lib/services/call';
import { text } from '$lib/text';

const SINCE = new Date(2026, 0, 1, 12, 30, 5);
const FULL = new ApiProblem(503, 'storage_full', 'the shared store (Redis) refuses writes: its memory or disk is full');

describe('what a page shows of a reading that failed', () => {
	it('names the refusal when the platform answers', () => {
		expect(text.common.stale(SINCE, FULL)).toBe(
			`The platform answers, but refuses: ${FULL.message}. What you see is of 12:30:05; asking again.`
		);
	});
	it.each(['unreachable', 'http_502'])('shows that the connection was lost when there is no answer of the platform (%s)', (code) => {
		expect(text.common.stale(SINCE, new ApiProblem(0, code, 'No answer.'))).toBe(
			'The connection was lost at 12:30:05. What you see may be old; connecting again. (No answer.)'
		);
	});
});
