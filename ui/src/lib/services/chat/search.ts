/** The search in conversations: all words, in titles and texts, without case and accents. It runs in small steps, so that keys still answer. */
import { fold } from './fold';

/** What the search reads of a conversation. */
export interface Searchable {
	id: string;
	title: string;
}

export interface SearchHit {
	/** The conversation. */
	id: string;
	/** The message with the words; null if they are in the title alone. */
	message: string | null;
	/** The text around the first word: pieces, of which those that match are marked. */
	excerpt: Piece[];
}

export interface Piece {
	text: string;
	isMatch: boolean;
}

/** So long a step works before keys and frames get their turn, in ms. */
const STEP_MS = 8;
/** So many words of a query count; the rest is ignored. */
const MAX_WORDS = 16;
/** So many characters of a query count. */
const MAX_QUERY = 1_000;
/** A text is looked through in parts of so many characters. */
const PART = 4_096;
/** So many characters of an excerpt stand before the first match, and after its begin. */
const BEFORE = 30;
const AFTER = 120;

/** The words of a query, folded. */
export function searchWords(query: string): string[] {
	return [...new Set(fold(query.slice(0, MAX_QUERY)).split(/\s+/).filter(Boolean))].slice(0, MAX_WORDS);
}

/** Whether a title has all words. */
export function titleMatches(title: string, words: readonly string[]): boolean {
	const folded = fold(title);
	return words.every((word) => folded.includes(word));
}

/**
 * Search one conversation after another. A conversation is found if each word is in its title or in one of its texts; the
 * excerpt is of the message with most of the words.
 *
 * @param texts the messages of a conversation with their texts, in the order of their times
 * @param onHit called with each hit, in the order of `conversations`
 */
export async function searchTexts(
	conversations: readonly Searchable[],
	query: string,
	texts: (id: string) => Promise<readonly { id: string; text: string }[]>,
	onHit: (hit: SearchHit) => void,
	signal: AbortSignal
): Promise<void> {
	const words = searchWords(query);
	if (words.length === 0) return;
	const pause = pauses();
	for (const conversation of conversations) {
		const messages = await texts(conversation.id);
		const missing = new Set(words);
		remove(missing, fold(conversation.title));
		let best: { id: string; text: string; count: number } | undefined;
		for (const message of messages) {
			await pause();
			if (signal.aborted) return;
			const folded = fold(message.text);
			const count = words.filter((word) => folded.includes(word)).length;
			if (count > (best?.count ?? 0)) best = { ...message, count };
			remove(missing, folded);
			if (count === words.length) break;
		}
		if (signal.aborted) return;
		if (missing.size === 0) {
			onHit({
				id: conversation.id,
				message: best?.id ?? null,
				excerpt: best ? excerptOf(best.text, words) : []
			});
		}
	}
}

function remove(words: Set<string>, folded: string): void {
	for (const word of words) if (folded.includes(word)) words.delete(word);
}

/** A wait for the browser's other work, when the step has taken its time. */
function pauses(): () => Promise<void> {
	let begin = performance.now();
	return async () => {
		if (performance.now() - begin < STEP_MS) return;
		await new Promise((resolve) => setTimeout(resolve, 0));
		begin = performance.now();
	};
}

/** The text around the first match of any word, on one line, in pieces. */
export function excerptOf(text: string, words: readonly string[]): Piece[] {
	const first = firstMatch(text, words);
	if (first < 0) return [];
	const from = wordStart(text, first - BEFORE);
	const part = text.slice(from, from + BEFORE + AFTER).replace(/\s+/g, ' ');
	const to = from + BEFORE + AFTER;
	return [
		...(from > 0 ? [{ text: '…', isMatch: false }] : []),
		...piecesOf(part, words),
		...(to < text.length ? [{ text: '…', isMatch: false }] : [])
	];
}

/** Where the first of the words begins; -1 if none does. Only the part with it is folded sign by sign, which is slow. */
function firstMatch(text: string, words: readonly string[]): number {
	for (let begin = 0; begin < text.length; begin += PART) {
		const part = text.slice(begin, begin + PART + MAX_QUERY);
		const foldedPart = fold(part);
		if (!words.some((word) => foldedPart.includes(word))) continue;
		const { folded, places } = foldWithPlaces(part);
		const found = words.map((word) => folded.indexOf(word)).filter((place) => place >= 0);
		if (found.length > 0) return begin + (places[Math.min(...found)] ?? 0);
	}
	return -1;
}

/** A text in pieces: those that match a word are marked. */
export function piecesOf(text: string, words: readonly string[]): Piece[] {
	const { folded, places } = foldWithPlaces(text);
	const pieces: Piece[] = [];
	let done = 0;
	let at = 0;
	while (at < folded.length) {
		const word = words.find((one) => one.length > 0 && folded.startsWith(one, at));
		if (word === undefined) {
			at += 1;
			continue;
		}
		const begin = places[at] ?? 0;
		const end = places[at + word.length] ?? text.length;
		if (begin > done) pieces.push({ text: text.slice(done, begin), isMatch: false });
		if (end > Math.max(begin, done)) pieces.push({ text: text.slice(Math.max(begin, done), end), isMatch: true });
		done = Math.max(done, end);
		at += word.length;
	}
	if (done < text.length) pieces.push({ text: text.slice(done), isMatch: false });
	return pieces;
}

/** The folded text, and for each of its units the place in `text` of the sign that it came from. */
function foldWithPlaces(text: string): { folded: string; places: number[] } {
	let folded = '';
	const places: number[] = [];
	let place = 0;
	for (const sign of text) {
		const part = fold(sign);
		folded += part;
		for (let unit = 0; unit < part.length; unit += 1) places.push(place);
		place += sign.length;
	}
	places.push(text.length);
	return { folded, places };
}

/** The begin of the word at a place, or the place itself within a long one. */
function wordStart(text: string, place: number): number {
	if (place <= 0) return 0;
	const space = text.slice(place, place + BEFORE).search(/\s/);
	return space < 0 ? place : place + space + 1;
}
