/** marked's lexer with what the chat adds (math, footnotes) and with bounds, as its input is whatever a model writes. */

import { Lexer, Tokenizer, type MarkedOptions, type Token, type TokenizerExtensionFunction, type Tokens, type TokensList } from 'marked';
import { blockMath, inlineMath, mayHaveMath, startOfBlockMath, startOfInlineMath, withMathMasked } from './math';

/** Deeper blocks stay text. */
export const DEEPEST = 16;
/** A longer run of inline text, in characters, stays text: the time for it would grow with its square. */
const LONGEST_INLINE = 20_000;

export type Links = TokensList['links'];

export interface NoteToken extends Tokens.Generic {
	type: 'note';
	label: string;
}

/** A definition of a footnote, with the lines that follow it. */
const note: TokenizerExtensionFunction = function (source) {
	const found = /^ {0,3}\[\^([^\]\s]{1,60})\]:[ \t]*([^\n]*(?:\n(?![ \t]*(?:\n|$)|[ \t]*\[\^[^\]\s]{1,60}\]:)[^\n]+)*)(?:\n|$)/.exec(source);
	if (!found) return undefined;
	return { type: 'note', raw: found[0], label: found[1], tokens: this.lexer.inline((found[2] ?? '').trim()) };
};

const noteReference: TokenizerExtensionFunction = (source) => {
	const found = /^\[\^([^\]\s]{1,60})\](?!\()/.exec(source);
	return found ? { type: 'note', raw: found[0], label: found[1] } : undefined;
};

class BoundedTokenizer extends Tokenizer {
	/** `[^1]: words` is a footnote and no address. */
	override def(source: string): Tokens.Def | undefined {
		return /^ {0,3}\[\^/.test(source) ? undefined : super.def(source);
	}
}

class BoundedLexer extends Lexer {
	#depth = 0;

	override blockTokens(source: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
	override blockTokens(source: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
	override blockTokens(source: string, tokens: Token[] = [], lastParagraphClipped?: boolean): Token[] {
		if (this.#depth >= DEEPEST) {
			tokens.push({ type: 'plain', raw: source, text: source });
			return tokens;
		}
		this.#depth += 1;
		try {
			return super.blockTokens(source, tokens, lastParagraphClipped);
		} finally {
			this.#depth -= 1;
		}
	}

	override inline(source: string, tokens: Token[] = []): Token[] {
		if (source.length <= LONGEST_INLINE) return super.inline(source, tokens);
		tokens.push({ type: 'text', raw: source, text: source });
		return tokens;
	}
}

/** The blocks of a text, with the link definitions that it and `links` have. */
export function lex(text: string, isStreaming: boolean, links: Links = {}): { tokens: Token[]; links: Links } {
	const lexer = new BoundedLexer(optionsFor(text, isStreaming));
	Object.assign(lexer.tokens.links, links);
	try {
		const tokens = lexer.lex(text);
		return { tokens, links: tokens.links };
	} catch {
		return { tokens: [{ type: 'plain', raw: text, text }], links }; // too much for the lexer: the text as it is
	}
}

function optionsFor(text: string, isStreaming: boolean): MarkedOptions {
	const isMath = mayHaveMath(text);
	const hasNotes = text.includes('[^');
	const block = [...(isMath ? [blockMath(isStreaming)] : []), ...(hasNotes ? [note] : [])];
	const inline = [...(isMath ? [inlineMath] : []), ...(hasNotes ? [noteReference] : [])];
	return {
		gfm: true,
		breaks: true,
		tokenizer: new BoundedTokenizer(),
		extensions: {
			renderers: {},
			childTokens: {},
			...(block.length ? { block } : {}),
			...(inline.length ? { inline } : {}),
			...(isMath ? { startBlock: [startOfBlockMath], startInline: [startOfInlineMath] } : {})
		},
		hooks: isMath ? ({ emStrongMask: withMathMasked } as NonNullable<MarkedOptions['hooks']>) : null
	};
}
