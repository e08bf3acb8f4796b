import type { Attachment } from '$lib/chat_types';
import type { AttachmentProblemCode } from './limits';
import { LIMITS } from './limits';

/** What decides about an attachment. */
export type Gated = Pick<Attachment, 'id' | 'name' | 'kind' | 'bytes' | 'text' | 'pages'>;

export interface Refused {
	/** The attachment that cannot be sent; null if it is all of them together. */
	id: string | null;
	name: string;
	code: AttachmentProblemCode;
}

/** Why an attachment cannot be sent to a model that takes these modalities (`capabilities.modalities`); null if it can. */
export function reasonAgainst(attachment: Gated, modalities: readonly string[]): AttachmentProblemCode | null {
	const sees = modalities.includes('image');
	if (attachment.kind === 'image') return sees ? null : 'noImages';
	if (attachment.kind === 'audio') return modalities.includes('audio') ? null : 'noAudio';
	if (attachment.kind === 'pdf' && attachment.text === '') return sees && attachment.pages.length > 0 ? null : 'noText';
	return null;
}

/** What has to change before a message with these attachments is sent to this model. Several models: all of them. */
export function refusedAttachments(attachments: readonly Gated[], ...models: (readonly string[])[]): Refused[] {
	const found: Refused[] = [];
	for (const attachment of attachments) {
		const code = models.map((modalities) => reasonAgainst(attachment, modalities)).find((reason) => reason !== null);
		if (code) found.push({ id: attachment.id, name: attachment.name, code });
	}
	if (attachments.length > LIMITS.files) found.push({ id: null, name: '', code: 'tooMany' });
	const bytes = attachments.reduce((sum, attachment) => sum + attachment.bytes, 0);
	if (bytes > LIMITS.messageBytes) found.push({ id: null, name: '', code: 'messageTooLarge' });
	return found;
}
