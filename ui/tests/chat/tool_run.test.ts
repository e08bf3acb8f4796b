import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { AnswerMessage, ToolCall } from '../../src/lib/chat_types';
import { ApiProblem } from '../../src/lib/services/call';
import { newAnswer, type ToolResult } from '../../src/lib/services/chat/new_records';
import { MAX_BEGUN, readBegun, withBegun } from '../../src/lib/services/tools/begun';
import type { Tool, ToolOutput } from '../../src/lib/services/tools/tools';
import { putSetting, readSetting } from '../../src/lib/storage/settings';
import { ToolRun, type RunOptions } from '../../src/lib/stores/chat/tool_run.svelte';
import { tools } from '../../src/lib/stores/chat/tools.svelte';

const tool = (name: string, description = 'Read.'): Tool => ({
	name,
	title: name,
	type: 'builtin',
	writes: false,
	description,
	parameters: { type: 'object' }
});
const call = (id: string, name = 'read'): ToolCall => ({ id, name, arguments: `{"id": "${id}"}` });

let sent: ToolResult[][];
let made: string[];
let outcomes: Record<string, ToolOutput | ApiProblem>;

beforeEach(async () => {
	sent = [];
	made = [];
	outcomes = {};
	tools.list = [tool('read'), tool('write')];
	tools.read = () => Promise.resolve(); // the list is at hand
	tools.consents = {};
	await putSetting('tools.consents', undefined);
	await putSetting('tools.begun', undefined);
});

function runOf(calls: ToolCall[] | AnswerMessage, changes: Partial<RunOptions> = {}): ToolRun {
	const answer = Array.isArray(calls) ? newAnswer('c', 'u', 'm', { calls, status: 'done' }) : calls;
	return new ToolRun(answer, {
		offered: ['read', 'write'],
		isOurs: true,
		isAtLimit: false,
		call: async (name, params) => {
			made.push(`${name} ${JSON.stringify(params)}`);
			const outcome = outcomes[String(params.id)] ?? { output: 'ok', isError: false };
			if (outcome instanceof ApiProblem) throw outcome;
			return outcome;
		},
		send: async (results) => sent.push(results),
		...changes
	});
}

describe('the calls of an answer', () => {
	test('are made when a person allows them, and all results are given at once', async () => {
		const run = runOf([call('1'), call('2')]);
		await run.start();
		expect(made).toEqual([]);
		expect([...run.calls.values()].map(({ kind }) => kind)).toEqual(['asking', 'asking']);
		await run.allow('1', false);
		expect(made).toEqual(['read {"id":"1"}']);
		expect(sent).toEqual([]);
		await run.refuse('2');
		expect(sent).toEqual([
			[
				{ callId: '1', name: 'read', output: 'ok', isError: false },
				{ callId: '2', name: 'read', output: 'The user did not allow this call.', isError: true }
			]
		]);
		expect(await readSetting('tools.begun')).toEqual({});
	});

	test('of a tool that was allowed for good are made by themselves, until it changes', async () => {
		const first = runOf([call('1'), call('2'), call('3', 'write')]);
		await first.start();
		await first.allow('1', true);
		await expect.poll(() => made).toHaveLength(2);
		expect(first.calls.get('3')?.kind).toBe('asking');
		const second = runOf([call('4')]);
		await second.start();
		await expect.poll(() => sent).toHaveLength(1);
		tools.list = [tool('read', 'Read, and tell another server.')];
		const third = runOf([call('5')]);
		await third.start();
		expect(third.calls.get('5')).toMatchObject({ kind: 'asking', isChanged: true });
	});

	test('that no tool can answer get a reason, and need no person', async () => {
		const run = runOf([call('1', 'rm'), { ...call('2'), arguments: '[' }]);
		await run.start();
		expect(made).toEqual([]);
		expect(sent[0]?.map(({ output }) => output)).toEqual([
			'There is no such tool.',
			'The arguments are not a JSON object.'
		]);
	});

	test('are repeated after a problem, or given up', async () => {
		const run = runOf([call('1'), call('2')]);
		await run.start();
		outcomes = { 1: new ApiProblem(429, 'too_many_tool_calls', 'too many'), 2: new ApiProblem(0, 'unreachable', 'no network') };
		await run.allow('1', false);
		await run.allow('2', false);
		expect(run.calls.get('1')).toMatchObject({ kind: 'problem', problem: { code: 'too_many_tool_calls' } });
		outcomes = {};
		await run.retry('1');
		await run.giveUp('2');
		expect(sent[0]).toEqual([
			{ callId: '1', name: 'read', output: 'ok', isError: false },
			{ callId: '2', name: 'read', output: 'no network', isError: true }
		]);
	});

	test('that take too long can be ended', async () => {
		let signal: AbortSignal | undefined;
		const endless = (_name: string, _params: object, given: AbortSignal): Promise<ToolOutput> => {
			signal = given;
			return new Promise((_, reject) => given.addEventListener('abort', () => reject(new ApiProblem(0, 'unreachable', ''))));
		};
		const run = runOf([call('1')], { call: endless });
		await run.start();
		const allowed = run.allow('1', false);
		await expect.poll(() => signal).toBeDefined();
		await run.giveUp('1');
		await allowed;
		expect(signal?.aborted).toBe(true);
		expect(sent[0]?.[0]?.output).toBe('The user ended this call before it had a result.');
	});

	test('wait for a person when the model has called tools too often', async () => {
		const run = runOf([call('1')], { isAtLimit: true });
		await run.start();
		await run.allow('1', false);
		expect([run.isHeld, sent]).toEqual([true, []]);
		await run.goOn();
		expect([run.isHeld, sent.length]).toEqual([false, 1]);
	});
});

describe('a page that is loaded anew', () => {
	test('makes no call by itself, and knows those that may have run and their results', async () => {
		const before = runOf([call('1'), call('2'), call('3')]);
		await before.start();
		await before.allow('1', false);
		const call2 = before.allow('2', false);
		outcomes = { 2: new ApiProblem(0, 'unreachable', '') };
		await call2;
		await tools.allow(tool('read'));
		const after = runOf(before.answer, { isOurs: false });
		made = [];
		await after.start();
		expect(made).toEqual([]);
		expect(after.calls.get('1')).toMatchObject({ kind: 'done', result: { output: 'ok' } });
		expect(after.calls.get('2')).toMatchObject({ kind: 'asking', mayHaveRun: true });
		expect(after.calls.get('3')).toMatchObject({ kind: 'asking', mayHaveRun: false });
	});

	test('asks before it gives results that were there', async () => {
		const before = runOf([call('1')], { isAtLimit: true });
		await before.start();
		await before.allow('1', false);
		const after = runOf(before.answer, { isOurs: false });
		await after.start();
		expect([after.isHeld, sent]).toEqual([true, []]);
		await after.goOn();
		expect(sent).toHaveLength(1);
	});
});

test('begun calls are read from any stored value, and are bounded', () => {
	const calls = { started: ['1'], results: [] };
	expect(readBegun({ a: calls, b: 1, c: null, d: { started: 'x' } })).toEqual({ a: calls });
	expect(readBegun('x')).toEqual({});
	let all = {};
	for (let at = 0; at <= MAX_BEGUN; at++) all = withBegun(all, `a${at}`, calls);
	expect(Object.keys(all)).toHaveLength(MAX_BEGUN);
	expect(all).not.toHaveProperty('a0');
	expect(withBegun(all, 'a1', null)).not.toHaveProperty('a1');
});
