import { expect, test } from 'vitest';
import {
	changedNames,
	defaultsOf,
	parameterOf,
	problemOfValue,
	textOf,
	valueOf,
	withParameter,
	type Parameter
} from '../../src/lib/services/chat/parameters';

/** As `GET /props` of the demo model has them. */
const REPORTED = {
	temperature: 0.800000011920929,
	top_k: 40,
	top_p: 0.949999988079071,
	min_p: 0.05,
	repeat_penalty: 1,
	presence_penalty: 0,
	seed: 4294967295,
	max_tokens: -1,
	n_predict: -1,
	ignore_eos: false
};
const DEFAULTS = defaultsOf(REPORTED);

function parameter(name: string): Parameter {
	const found = parameterOf(name);
	if (!found) throw new Error(name);
	return found;
}

test('defaults have the names of requests, and no noise of 32-bit floats', () => {
	expect(DEFAULTS).toMatchObject({ temperature: 0.8, top_p: 0.95, top_k: 40, repetition_penalty: 1 });
});

test('a random seed and no limit of tokens are no values', () => {
	expect(DEFAULTS).toMatchObject({ seed: null, max_output_tokens: null, stop: null, truncation: 'disabled' });
});

test('defaults of a model that reports none are not known', () => {
	expect(defaultsOf({})).toMatchObject({ temperature: null, truncation: 'disabled' });
	expect(defaultsOf({ temperature: 'hot', stop: [1] })).toMatchObject({ temperature: null, stop: null });
});

test('a value that is the default is not kept, and another one is', () => {
	const changed = withParameter({}, 'temperature', 0.2, DEFAULTS);
	expect(changed).toEqual({ temperature: 0.2 });
	expect(withParameter(changed, 'temperature', 0.8, DEFAULTS)).toEqual({});
	expect(withParameter(changed, 'temperature', null, DEFAULTS)).toEqual({});
	expect(withParameter({}, 'temperature', 0.8, defaultsOf({}))).toEqual({ temperature: 0.8 });
});

test('values that differ are named in the order of the form', () => {
	expect(changedNames({ seed: 3, temperature: 0.1, top_k: 40 }, DEFAULTS)).toEqual(['temperature', 'seed']);
});

test('a written value is read, with a comma too', () => {
	expect(valueOf(parameter('temperature'), ' 0,7 ')).toEqual({ value: 0.7 });
	expect(valueOf(parameter('temperature'), '')).toEqual({ value: null });
	expect(valueOf(parameter('temperature'), 'hot')).toEqual({ problem: 'kind' });
	expect(valueOf(parameter('temperature'), '3')).toEqual({ problem: 'range' });
	expect(valueOf(parameter('top_k'), '1.5')).toEqual({ problem: 'whole' });
	expect(valueOf(parameter('max_output_tokens'), '0')).toEqual({ problem: 'range' });
});

test('texts that end an answer are lines, and their own line breaks are written out', () => {
	const stop = parameter('stop');
	expect(valueOf(stop, '\\n\\n\nUser:\n')).toEqual({ value: ['\n\n', 'User:'] });
	for (const texts of [['\n\t'], ['a\\nb', '\\'], ['plain']])
		expect(valueOf(stop, textOf(texts))).toEqual({ value: texts });
	expect(valueOf(stop, 'x'.repeat(257))).toEqual({ problem: 'length' });
});

test.each([
	['temperature', '0.5', 'kind'],
	['temperature', Infinity, 'kind'],
	['temperature', -1, 'range'],
	['top_k', 0.5, 'whole'],
	['stop', 'END', 'kind'],
	['stop', [], 'length'],
	['truncation', 'never', 'range'],
	['lora', '', 'length'],
	['logit_bias', {}, 'unknown'],
	['toString', 1, 'unknown'],
	['seed', 7, null],
	['lora', 'poems', null],
	['stop', ['END'], null]
])('the value of %s that comes from outside is checked: %j', (name, value, problem) => {
	expect(problemOfValue(name, value)).toBe(problem);
});
