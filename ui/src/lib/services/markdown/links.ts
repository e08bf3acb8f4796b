/** Which addresses of an answer become links, and what a person is told about them. */

const LONGEST = 4_096;
const LARGEST_IMAGE = 3_000_000;
const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;

export interface SafeLink {
	href: string;
	/** Where it leads: the host with its port, or the address of a mail. */
	host: string;
}

/** The address as a link: https, http and mailto only, absolute; null for all others. */
export function safeLink(address: string): SafeLink | null {
	const text = address.trim();
	if (text.length > LONGEST || !/^(?:https?:\/\/|mailto:)/i.test(text)) return null;
	let url: URL;
	try {
		url = new URL(text);
	} catch {
		return null;
	}
	if (url.protocol === 'mailto:') return url.pathname ? { href: url.href, host: decoded(url.pathname) } : null;
	return url.host && ['http:', 'https:'].includes(url.protocol) ? { href: url.href, host: url.host } : null;
}

/** Whether the words of a link say already where it leads: then its host need not be repeated. */
export function namesItsHost(label: string, link: SafeLink): boolean {
	const url = new URL(link.href);
	if (url.username || url.password) return false;
	const words = label.trim().toLowerCase();
	if (words === link.host) return true;
	const start = [`${url.protocol}//${link.host}`, link.host].find((form) => words.startsWith(form));
	return start !== undefined && /^[/?#]/.test(words.slice(start.length) || '/') && !/[\s@]/.test(words);
}

/** Whether the address is itself a small picture, which needs no request. SVG is none: it is a document. */
export function isInlineImage(address: string): boolean {
	return address.length <= LARGEST_IMAGE && IMAGE.test(address);
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
