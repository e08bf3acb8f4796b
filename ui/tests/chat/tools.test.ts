import { describe, expect, test } from 'vitest';
import type { AnswerMessage, Message, ToolCall } from '../../src/lib/chat_types';
import { allow, consentTo, forget, readConsents } from '../../src/lib/services/tools/consent';
import { CALLS, ROUNDS, roundsOf, stepOf } from '../../src/lib/services/tools/loop';
import { argumentsOf, MAX_OUTPUT, offeredTools, outputOf, toolOf, type Tool } from '../../src/lib/services/tools/tools';

const READ: Tool = {
	name: 'read_file',
	title: 'Read file',
	type: 'builtin',
	writes: false,
	description: 'Read a file.',
	parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
};
const CALL: ToolCall = { id: 'call_1', name: 'read_file', arguments: '{"path": "a.txt"}' };

const base = { conversation: 'c', parent: null, createdAt: 0, itemIds: [] };
const user: Message = { ...base, id: 'u', role: 'user', text: 'hi', attachments: [] };
const answerWith = (calls: ToolCall[], changes: Partial<AnswerMessage> = {}): AnswerMessage => ({
	...base,
	id: 'a',
	role: 'assistant',
	model: 'm',
	status: 'done',
	text: '',
	reasoning: '',
	reasoningMs: null,
	calls,
	responseId: 'resp_1',
	usage: null,
	times: { sentAt: 0, firstTokenMs: null, totalMs: null, tokensPerSecond: null },
	error: null,
	continues: null,
	isSecond: false,
	...changes
});
const resultOf = (callId: string, id = `t_${callId}`): Message => ({
	...base,
	id,
	role: 'tool',
	callId,
	name: 'read_file',
	output: 'x',
	isError: false
});

describe('a row of GET /tools', () => {
	const row = {
		tool: 'read_file',
		display_name: 'Read file',
		type: 'builtin' as const,
		permissions: { write: false },
		uses_cwd: true,
		definition: { type: 'function', function: { name: 'read_file', description: 'Read a file.', parameters: READ.parameters } }
	};
	test('becomes a tool, and an entry of the request', () => {
		expect(toolOf(row)).toEqual(READ);
		expect(offeredTools([READ, { ...READ, name: 'other' }], ['read_file', 'gone'])).toEqual([
			{ type: 'function', name: 'read_file', description: 'Read a file.', parameters: READ.parameters, strict: false }
		]);
	});
	test('counts as one that writes unless it is built in and says that it does not', () => {
		expect(toolOf({ ...row, permissions: {} })?.writes).toBe(true);
		expect(toolOf({ ...row, type: 'mcp' })?.writes).toBe(true);
	});
	test('is dropped without a name, and gets an empty schema without one', () => {
		expect(toolOf({ ...row, definition: {} })).toBeNull();
		expect(toolOf({ ...row, definition: { function: { name: 'x' } } })?.parameters).toEqual({ type: 'object', properties: {} });
	});
});

test('a result is its text, its JSON or its error, and is cut at a size', () => {
	expect(outputOf({ plain_text_response: '' })).toEqual({ output: '', isError: false });
	expect(outputOf({ entries: [], base: '/' })).toEqual({ output: '{"entries":[],"base":"/"}', isError: false });
	expect(outputOf({ error: 'no file' })).toEqual({ output: 'no file', isError: true });
	expect(outputOf({ plain_text_response: 'x'.repeat(MAX_OUTPUT + 1) }).output).toHaveLength(MAX_OUTPUT + 6);
});

test('arguments are a JSON object, or none', () => {
	expect(argumentsOf('{"a": 1}')).toEqual({ a: 1 });
	expect(argumentsOf(' ')).toEqual({});
	for (const text of ['[]', 'null', '"x"', '{"a": ', 'x']) expect(argumentsOf(text)).toBeNull();
});

describe('a consent that is remembered', () => {
	test('holds for the same tool, whatever the order of its schema', () => {
		const consents = allow({}, READ);
		expect(consentTo(READ, consents)).toBe('allowed');
		const { type, ...others } = READ.parameters;
		expect(consentTo({ ...READ, parameters: { ...others, type } }, consents)).toBe('allowed');
		expect(consentTo(READ, forget(consents, 'read_file'))).toBe('unknown');
	});
	test('ends when the description, the schema or the kind of the tool changes', () => {
		const consents = allow({}, READ);
		expect(consentTo({ ...READ, description: 'Read a file. Then send it.' }, consents)).toBe('changed');
		expect(consentTo({ ...READ, parameters: { type: 'object' } }, consents)).toBe('changed');
		expect(consentTo({ ...READ, writes: true }, consents)).toBe('changed');
		expect(consentTo({ ...READ, title: 'other' }, consents)).toBe('allowed');
	});
	test('is read from a stored value of any form', () => {
		expect(readConsents({ a: 'x', b: 1 })).toEqual({ a: 'x' });
		for (const stored of [null, undefined, 'x', 3]) expect(readConsents(stored)).toEqual({});
		expect(consentTo({ ...READ, name: 'toString' }, {})).toBe('unknown');
		expect(consentTo({ ...READ, name: '__proto__' }, {})).toBe('unknown');
	});
});

test('the rounds of tools are counted from the last message of a person', () => {
	const round = [answerWith([CALL]), resultOf('call_1')];
	const rounds = (count: number): Message[] => [user, ...Array.from({ length: count }, () => round).flat()];
	expect(roundsOf(rounds(ROUNDS))).toBe(ROUNDS);
	expect(roundsOf([...rounds(ROUNDS), answerWith([])])).toBe(ROUNDS);
	expect(roundsOf([...rounds(ROUNDS), user, ...round])).toBe(1);
});

describe('a call', () => {
	const step = (call: ToolCall, consents = {}, offered = ['read_file'], isOurs = true): unknown =>
		stepOf(call, answerWith([call]), [READ], offered, consents, isOurs);
	test('is asked for with all its arguments, until its tool is allowed for good', () => {
		expect(step(CALL)).toEqual({ kind: 'ask', tool: READ, params: { path: 'a.txt' }, isChanged: false });
		expect(step(CALL, allow({}, READ))).toEqual({ kind: 'run', tool: READ, params: { path: 'a.txt' } });
		const changed = allow({}, { ...READ, description: 'x' });
		expect(step(CALL, changed)).toMatchObject({ kind: 'ask', isChanged: true });
	});
	test('is asked for again by a page that did not see the answer end', () => {
		expect(step(CALL, allow({}, READ), ['read_file'], false)).toMatchObject({ kind: 'ask', isChanged: false });
	});
	test('of a tool that is not offered is not run, nor one whose arguments are no object', () => {
		expect(step(CALL, allow({}, READ), [])).toEqual({ kind: 'invalid', reason: 'unknown' });
		expect(step({ ...CALL, name: 'rm' }, {}, ['rm'])).toEqual({ kind: 'invalid', reason: 'unknown' });
		expect(step({ ...CALL, arguments: '{"path": ' })).toEqual({ kind: 'invalid', reason: 'arguments' });
	});
	test('beyond the bound of an answer is not run', () => {
		const calls = Array.from({ length: CALLS + 1 }, (_, at) => ({ ...CALL, id: `call_${at}` }));
		const answer = answerWith(calls);
		const last = calls.at(-1) as ToolCall;
		expect(stepOf(last, answer, [READ], ['read_file'], {}, true)).toEqual({ kind: 'invalid', reason: 'tooMany' });
	});
});
