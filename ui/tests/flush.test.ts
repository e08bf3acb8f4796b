import { expect, test, vi } from 'vitest';

vi.mock('$app/paths', () => ({ base: '/ui' }));
const { bodyOf, scopeOf, SCOPES } = await import('../src/lib/services/flush');
const { text } = await import('../src/lib/text');

test('the scope of a flush is in words, with all that it names', () => {
	const values = { model: 'org/m', tenant: ' acme ', tag: 'session-1' };
	expect(SCOPES.map((scope) => text.operations.scope(scopeOf(bodyOf(scope, values))))).toEqual([
		'everything',
		'the model org/m',
		'the tenant acme',
		'the tag session-1 of the tenant acme'
	]);
});
