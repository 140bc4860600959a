// Before the first paint, so that a chosen theme never flashes and nothing moves. No module: modules run after it.
document.documentElement.classList.add("scripted");
document.documentElement.dataset.theme = localStorage.getItem("pacebus.theme") ?? "system";
