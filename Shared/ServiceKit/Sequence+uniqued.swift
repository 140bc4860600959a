extension Sequence where Element: Hashable {
    /// The first occurrence of each element, in order.
    package func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
