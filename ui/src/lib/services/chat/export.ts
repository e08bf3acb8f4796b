/** Conversations as a JSON file, which `import.ts` reads. It holds no key and no session. */
import type { Attachment } from '$lib/chat_types';
import type { WholeConversation } from '$lib/storage/conversations';

export const FORMAT = 'stoker.chat';
export const VERSION = 1;

/** An attachment in a file: its bytes are in base64. */
export interface AttachmentJson extends Omit<Attachment, 'content' | 'pages'> {
	content: string;
	pages: BlobJson[];
	contentType: string;
}

export interface BlobJson {
	type: string;
	base64: string;
}

/**
 * A JSON file of conversations, which are read one by one: the file grows in the browser's store of blobs, so that the
 * memory holds one conversation at a time.
 *
 * @param onProgress called with the number of conversations that are in the file
 */
export async function exportJson(
	conversations: Iterable<string>,
	read: (id: string) => Promise<WholeConversation | undefined>,
	onProgress: (count: number) => void = () => undefined
): Promise<Blob> {
	const begin = { format: FORMAT, version: VERSION, exportedAt: new Date().toISOString() };
	const parts: Blob[] = [new Blob([`${JSON.stringify(begin).slice(0, -1)},"conversations":[`])];
	let count = 0;
	for (const id of conversations) {
		const whole = await read(id);
		if (!whole) continue;
		parts.push(new Blob([count > 0 ? ',\n' : '\n', ...(await conversationJson(whole))]));
		count += 1;
		onProgress(count);
	}
	parts.push(new Blob(['\n]}\n']));
	return new Blob(parts, { type: 'application/json' });
}

async function conversationJson({ conversation, messages, attachments }: WholeConversation): Promise<string[]> {
	const parts = [`{"conversation":${JSON.stringify(conversation)},"messages":${JSON.stringify(messages)},"attachments":[`];
	for (const [place, attachment] of attachments.entries()) {
		if (place > 0) parts.push(',');
		parts.push(JSON.stringify(await attachmentJson(attachment)));
	}
	parts.push(']}');
	return parts;
}

async function attachmentJson(attachment: Attachment): Promise<AttachmentJson> {
	return {
		...attachment,
		content: await base64Of(attachment.content),
		contentType: attachment.content.type,
		pages: await Promise.all(
			attachment.pages.map(async (page) => ({ type: page.type, base64: await base64Of(page) }))
		)
	};
}

/** Bytes per call of `String.fromCharCode`, which takes a bounded number of arguments; a multiple of 3. */
const CHUNK = 24_576;

export async function base64Of(blob: Blob): Promise<string> {
	const bytes = new Uint8Array(await blob.arrayBuffer());
	let text = '';
	for (let at = 0; at < bytes.length; at += CHUNK) {
		text += btoa(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
	}
	return text;
}

/** The name of a file with a title in it, on any system: `2026-11-27 Title.json`. */
export function fileName(title: string, ending: string, now: Date = new Date()): string {
	const plain = title
		.normalize('NFC')
		.replace(/[\p{Cc}\p{Cf}\\/:*?"<>|]+/gu, ' ')
		.replace(/\s+/g, ' ')
		.trim();
	const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0'));
	const short = [...plain].slice(0, 60).join('').replace(/[. ]+$/, '');
	return `${[day.join('-'), short].filter(Boolean).join(' ')}.${ending}`;
}
