/** The shown branch of a conversation as Markdown, for reading and for other programs. */
import type { AnswerMessage, Attachment, Conversation, Message } from '$lib/chat_types';

/** The words of the file, in the chat's language. */
export interface MarkdownWords {
	you: string;
	assistant: string;
	reasoning: string;
	toolCall: string;
	toolResult: string;
	attachment: string;
	exported: string;
}

/**
 * @param branch the messages from the first to the last of the branch that is shown
 * @param attachments those of the conversation, by their ids
 */
export function markdownOf(
	conversation: Conversation,
	branch: readonly Message[],
	attachments: ReadonlyMap<string, Pick<Attachment, 'name' | 'type'>>,
	words: MarkdownWords
): string {
	const parts = [`# ${inline(conversation.title)}`, `*${words.exported} ${new Date(conversation.changedAt).toISOString()}*`];
	for (const message of branch) parts.push(...sectionOf(message, attachments, words));
	return `${parts.filter(Boolean).join('\n\n')}\n`;
}

function sectionOf(
	message: Message,
	attachments: ReadonlyMap<string, Pick<Attachment, 'name' | 'type'>>,
	words: MarkdownWords
): string[] {
	if (message.role === 'tool') return [`**${words.toolResult}: ${inline(message.name)}**`, fenced(message.output)];
	if (message.role === 'user') {
		return [`## ${words.you}`, ...filesOf(message.attachments, attachments, words), message.text.trim()];
	}
	return answerSection(message, attachments, words);
}

function answerSection(
	answer: AnswerMessage,
	attachments: ReadonlyMap<string, Pick<Attachment, 'name' | 'type'>>,
	words: MarkdownWords
): string[] {
	// a continued answer goes on under the heading of its first part
	const heading = answer.continues === null ? [`## ${words.assistant} (${inline(answer.model)})`] : [];
	const reasoning = answer.reasoning.trim();
	return [
		...heading,
		...(reasoning ? [quoted(`**${words.reasoning}**\n\n${reasoning}`)] : []),
		answer.text.trim(),
		...filesOf(answer.media?.attachments ?? [], attachments, words),
		...answer.calls.flatMap((call) => [`**${words.toolCall}: ${inline(call.name)}**`, fenced(call.arguments, 'json')])
	];
}

function filesOf(
	ids: readonly string[],
	attachments: ReadonlyMap<string, Pick<Attachment, 'name' | 'type'>>,
	words: MarkdownWords
): string[] {
	const files = ids.flatMap((id) => attachments.get(id) ?? []);
	return files.map((file) => `*${words.attachment}: ${inline(file.name)} (${inline(file.type)})*`);
}

/** A text on one line, in which no sign has a meaning in Markdown. */
function inline(text: string): string {
	return text.replace(/\s+/g, ' ').trim().replace(/[\\`*_[\]<>#|~]/g, '\\$&');
}

function quoted(text: string): string {
	return text
		.split('\n')
		.map((line) => (line ? `> ${line}` : '>'))
		.join('\n');
}

/** A block of code that its content cannot end. */
function fenced(content: string, language = ''): string {
	const longest = Math.max(0, ...[...content.matchAll(/`+/g)].map(([run]) => run.length));
	const fence = '`'.repeat(Math.max(3, longest + 1));
	return `${fence}${language}\n${content}\n${fence}`;
}
