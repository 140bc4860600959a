// Before the first paint, so that a chosen theme never flashes. No module: modules run after it.
document.documentElement.dataset.theme = localStorage.getItem("pacebus.theme") ?? "system";
