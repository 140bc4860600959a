import Foundation

/// Ends the process at the second Ctrl-C, while the first is still being obeyed. What was queued is kept.
struct ImpatientExit {
    private static let status: Int32 = 130
    /// A shell that passes Ctrl-C on to a process that got it already does not mean it twice.
    private static let echo = Duration.seconds(1)

    private let source: any DispatchSourceSignal

    init() {
        source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        // The source calls its handler one at a time.
        nonisolated(unsafe) var first: ContinuousClock.Instant?
        source.setEventHandler {
            let now = ContinuousClock.now
            if let first, now - first > Self.echo { _exit(Self.status) }
            first = first ?? now
        }
        source.resume()
    }
}
