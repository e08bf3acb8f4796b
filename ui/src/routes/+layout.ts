// The pages are made once, at build time, as empty shells: a server that only sends files can serve them, and each
// finds its files by relative addresses. The browser fills them.
export const prerender = true;
export const ssr = false;
