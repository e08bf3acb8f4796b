import { describe, expect, it } from 'vitest';
import { de } from '../src/lib/chat_text/de';
import { en } from '../src/lib/chat_text/en';
import { problemOf } from '../src/lib/services/call';

function refused(headers: Record<string, string>) {
	return problemOf(new Response(null, { status: 429, headers }), { error: { code: 'budget_exceeded', message: 'used' } });
}

describe('a refusal', () => {
	it('has the time to wait, unless another attempt is of no use', () => {
		expect(refused({ 'Retry-After': '7' }).retryAfter).toBe(7);
		expect(refused({ 'Retry-After': '2600000', 'x-should-retry': 'false' })).toMatchObject({
			status: 429,
			code: 'budget_exceeded',
			retryAfter: undefined
		});
	});

	it('because of a used budget is in words in each language', () => {
		expect(en.thread.advice.budget_exceeded).toContain('budget');
		expect(de.thread.advice.budget_exceeded).toContain('Budget');
	});
});
