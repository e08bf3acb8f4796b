/** Tokens of marked's lexer as the tree that the components show. */

import type { MarkedToken, Token, Tokens } from 'marked';
import { revealed } from '../invisible';
import { decodeEntities } from './entities';
import { DEEPEST, type NoteToken } from './lexer';
import { isInlineImage, namesItsHost, safeLink } from './links';
import type { MathToken } from './math';
import type { Block, Inline, ListItem } from './tree';

type PlainToken = { type: 'plain'; raw: string; text: string };
type KnownToken = MarkedToken | MathToken | NoteToken | PlainToken;

/** The blocks that the tokens are; spaces and definitions are none. */
export function toBlocks(tokens: readonly Token[]): Block[] {
	return tokens.flatMap((token) => toBlock(token) ?? []);
}

/** One block; undefined for a token that shows nothing. */
export function toBlock(anyToken: Token): Block | undefined {
	const token = anyToken as KnownToken;
	switch (token.type) {
		case 'space':
		case 'def':
		case 'checkbox':
			return undefined;
		case 'paragraph':
		case 'text':
			return { type: 'paragraph', children: 'tokens' in token && token.tokens ? toInlines(token.tokens) : inlineText(token.text) };
		case 'heading':
			return { type: 'heading', level: token.depth, children: toInlines(token.tokens) };
		case 'code':
			return toCode(token);
		case 'blockquote':
			return { type: 'quote', blocks: toBlocks(token.tokens) };
		case 'list':
			return { type: 'list', isOrdered: token.ordered, start: Number(token.start) || (token.start === 0 ? 0 : 1), items: token.items.map(toItem) };
		case 'table':
			return {
				type: 'table',
				alignments: token.align,
				header: token.header.map((cell) => toInlines(cell.tokens)),
				rows: token.rows.map((row) => row.map((cell) => toInlines(cell.tokens)))
			};
		case 'math':
			return token.isOpen ? { type: 'plain', text: token.raw } : { type: 'math', tex: token.tex };
		case 'note':
			return { type: 'note', label: token.label, children: toInlines(token.tokens ?? []) };
		case 'hr':
			return { type: 'rule' };
		default:
			return { type: 'plain', text: token.raw.replace(/\n+$/, '') };
	}
}

function toCode(token: Tokens.Code): Block {
	// marked ends an unclosed fence at the end of the text
	const fence = token.codeBlockStyle === 'indented' ? undefined : /^ {0,3}(`{3,}|~{3,})/.exec(token.raw)?.[1];
	const isOpen = fence !== undefined && !new RegExp(`\\n {0,3}${fence[0]}{${fence.length},} *\\n*$`).test(token.raw);
	const language = /^[^\s{,]{0,40}/.exec(token.lang?.trim() ?? '')?.[0] ?? '';
	return { type: 'code', language, text: token.text, isOpen };
}

function toItem(item: Tokens.ListItem): ListItem {
	return { isDone: item.task ? item.checked === true : null, blocks: toBlocks(item.tokens) };
}

/** What stands in a line. */
export function toInlines(tokens: readonly Token[], depth = 0): Inline[] {
	const inlines: Inline[] = [];
	for (const token of tokens) {
		for (const inline of toInline(token as KnownToken, depth)) {
			const last = inlines.at(-1);
			if (inline.type === 'text' && last?.type === 'text') inlines[inlines.length - 1] = { type: 'text', text: last.text + inline.text };
			else inlines.push(inline);
		}
	}
	return inlines;
}

function toInline(token: KnownToken, depth: number): Inline[] {
	if (depth > DEEPEST) return inlineText(token.raw);
	const children = (): Inline[] => ('tokens' in token && token.tokens ? toInlines(token.tokens, depth + 1) : inlineText(token.raw));
	switch (token.type) {
		case 'strong':
			return [{ type: 'strong', children: children() }];
		case 'em':
			return [{ type: 'emphasis', children: children() }];
		case 'del':
			return [{ type: 'deleted', children: children() }];
		case 'codespan':
			return [{ type: 'code', text: token.text }];
		case 'br':
			return [{ type: 'break' }];
		case 'link':
			return toLink(token, children());
		case 'image':
			return toImage(token);
		case 'math':
			return [{ type: 'math', tex: token.tex, isBlock: token.isBlock }];
		case 'note':
			return [{ type: 'note', label: token.label }];
		case 'html':
			return /^<br\s*\/?>$/i.test(token.raw) ? [{ type: 'break' }] : inlineText(token.raw, false);
		case 'checkbox':
			return [];
		case 'escape':
			return inlineText(token.text, false);
		case 'text':
			return token.tokens ? children() : inlineText(token.text);
		default:
			return inlineText(token.raw);
	}
}

function toLink(token: Tokens.Link, children: Inline[]): Inline[] {
	const link = safeLink(decodeEntities(token.href));
	if (!link) return token.autolink ? inlineText(token.raw) : [...children, ...inlineText(` (${token.href})`, false)];
	const host = namesItsHost(wordsOf(children), link) ? null : link.host;
	return [{ type: 'link', href: link.href, host, isImage: false, children }];
}

function toImage(token: Tokens.Image): Inline[] {
	const description = decodeEntities(token.text);
	if (isInlineImage(token.href)) return [{ type: 'image', source: token.href, description }];
	const link = safeLink(decodeEntities(token.href));
	if (!link) return inlineText(token.raw.slice(0, 2_000), false);
	return [{ type: 'link', href: link.href, host: link.host, isImage: true, children: inlineText(description, false) }];
}

/** A text of prose: its character references are resolved, and its hidden characters stand apart. */
function inlineText(text: string, hasReferences = true): Inline[] {
	return revealed(hasReferences ? decodeEntities(text) : text, 'prose').map((piece) =>
		'text' in piece ? { type: 'text', text: piece.text } : { type: 'mark', mark: piece.mark }
	);
}

/** The words of what stands in a line, without markup. */
export function wordsOf(inlines: readonly Inline[]): string {
	return inlines
		.map((inline) => {
			if ('children' in inline) return wordsOf(inline.children);
			if ('text' in inline) return inline.text;
			return inline.type === 'break' ? ' ' : inline.type === 'math' ? inline.tex : inline.type === 'image' ? inline.description : '';
		})
		.join('');
}
