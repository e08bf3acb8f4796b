import { browser } from '$app/environment';
import { afterNavigate, replaceState } from '$app/navigation';
import { page } from '$app/state';
import { queryOf, viewOf, type TableModel, type View } from '$lib/services/table';

/** The view of a table, which is a part of the page's address: a link opens it, and each change is written there. */
export function useTableView<Row>(model: TableModel<Row>): { value: View } {
	// the page itself is built without an address
	let view: View = $state.raw(viewOf(browser ? page.url.search : '', model));
	afterNavigate(({ to }) => {
		if (to) view = viewOf(to.url.search, model);
	});
	return {
		get value() {
			return view;
		},
		set value(wanted: View) {
			view = { ...wanted };
			delete view.refused; // the address has them no more
			const query = queryOf(view, model, location.search);
			// eslint-disable-next-line svelte/no-navigation-without-resolve -- the present page, with another query
			replaceState(`${location.pathname}${query}${location.hash}`, page.state);
		}
	};
}
