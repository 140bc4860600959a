import CMalloc

/// Returns unused memory to the system at intervals. After large views and files the allocator holds several times what is in use.
package struct MemoryTrim {
    /// Seconds.
    private static let interval = 30.0

    private var trimmedAt: Moment?

    package init() {}

    /// To be called at each tick.
    package mutating func tick(_ now: Moment) {
        guard trimmedAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return }
        trimmedAt = now
        malloc_trim(0)
    }
}
