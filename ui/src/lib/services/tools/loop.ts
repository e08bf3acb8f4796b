import type { AnswerMessage, Message, ToolCall } from '$lib/chat_types';
import { consentTo, type Consents } from './consent';
import { argumentsOf, type Tool } from './tools';

/**
 * The loop of tools: an answer has calls, each gets a result, and the results get an answer. Its state follows from the
 * messages of the branch that is shown, so that a page that is loaded anew shows the same; what it may do by itself
 * follows from `isOurs`.
 *
 *     answer with calls -> (ask | run | invalid) for each call -> all have results -> answer -> ...
 *                                                                               \-> limit, after ROUNDS answers
 */

/** Answers with calls after one message of a person, until the person is asked whether it should go on. */
export const ROUNDS = 12;
/** Calls of one answer that are run. */
export const CALLS = 16;

/** What is to be done with a call that has no result. */
export type CallStep =
	/** A person has to allow it. `isChanged`: the tool was allowed for good, and has been another one since then. */
	| { kind: 'ask'; tool: Tool; params: Record<string, unknown>; isChanged: boolean }
	| { kind: 'run'; tool: Tool; params: Record<string, unknown> }
	/** It cannot be made: the model gets the reason. */
	| { kind: 'invalid'; reason: 'unknown' | 'arguments' | 'tooMany' };

/** How many answers with calls follow the last message of a person. */
export function roundsOf(path: readonly Message[]): number {
	const from = path.findLastIndex((message) => message.role === 'user');
	return path.slice(from + 1).filter((message) => message.role === 'assistant' && message.calls.length > 0).length;
}

/**
 * What to do with a call. Only tools that the conversation offers are run: a model may name any. `isOurs` says whether
 * this page has seen the answer end; a page that was loaded later asks for each call, as another one may have run it.
 */
export function stepOf(
	call: ToolCall,
	answer: AnswerMessage,
	tools: readonly Tool[],
	offered: readonly string[],
	consents: Consents,
	isOurs: boolean
): CallStep {
	if (answer.calls.indexOf(call) >= CALLS) return { kind: 'invalid', reason: 'tooMany' };
	const tool = tools.find((one) => one.name === call.name);
	if (!tool || !offered.includes(call.name)) return { kind: 'invalid', reason: 'unknown' };
	const params = argumentsOf(call.arguments);
	if (!params) return { kind: 'invalid', reason: 'arguments' };
	const consent = consentTo(tool, consents);
	if (consent === 'allowed' && isOurs) return { kind: 'run', tool, params };
	return { kind: 'ask', tool, params, isChanged: consent === 'changed' };
}

/** What the model reads in place of a result, in English as its tools are. */
export const INVALID_OUTPUTS = {
	unknown: 'There is no such tool.',
	arguments: 'The arguments are not a JSON object.',
	tooMany: `An answer can make ${CALLS} calls at most.`,
	refused: 'The user did not allow this call.',
	ended: 'The user ended this call before it had a result.'
} as const;
