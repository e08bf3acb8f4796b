import { expect, test } from 'vitest';
import type { AnswerMessage, Conversation, Message } from '$lib/chat_types';
import { markdownOf } from '$lib/services/chat/markdown_export';

const WORDS = {
	you: 'You',
	assistant: 'Assistant',
	reasoning: 'Reasoning',
	toolCall: 'Tool call',
	toolResult: 'Tool result',
	attachment: 'Attachment',
	exported: 'Changed'
};

const base = { conversation: 'c', parent: null, createdAt: 0, itemIds: [] };
const answer: AnswerMessage = {
	...base,
	id: '2',
	role: 'assistant',
	model: 'a_model',
	status: 'done',
	text: 'Yes.\n\n- one',
	reasoning: 'Hm.\n\nWell.',
	reasoningMs: 1,
	calls: [{ id: 'x', name: 'run', arguments: '{"a":1}' }],
	responseId: null,
	usage: null,
	times: { sentAt: 0, firstTokenMs: null, totalMs: null, tokensPerSecond: null },
	error: null,
	continues: null,
	isSecond: false
};

test('a branch becomes Markdown with its attachments, reasoning, calls and results', () => {
	const branch: Message[] = [
		{ ...base, id: '1', role: 'user', text: ' Hi ', attachments: ['a', 'gone'] },
		answer,
		{ ...base, id: '3', role: 'tool', callId: 'x', name: 'run', output: 'ends ``` early', isError: false },
		{ ...answer, id: '4', continues: '2', text: 'More', reasoning: '', calls: [] }
	];
	const conversation = { title: 'A\n# [title](x)', changedAt: Date.UTC(2026, 0, 1) } as Conversation;
	const files = new Map([['a', { name: 'cat*.png', type: 'image/png' }]]);
	expect(markdownOf(conversation, branch, files, WORDS)).toBe(
		[
			'# A \\# \\[title\\](x)',
			'*Changed 2026-01-01T00:00:00.000Z*',
			'## You',
			'*Attachment: cat\\*.png (image/png)*',
			'Hi',
			'## Assistant (a\\_model)',
			'> **Reasoning**\n>\n> Hm.\n>\n> Well.',
			'Yes.\n\n- one',
			'**Tool call: run**',
			'```json\n{"a":1}\n```',
			'**Tool result: run**',
			'````\nends ``` early\n````',
			'More'
		].join('\n\n') + '\n'
	);
});
