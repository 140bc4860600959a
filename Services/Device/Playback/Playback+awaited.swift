extension Playback {
    /// Who or what keeps it from going on; `nil` as long as all comes in time.
    var awaited: String? {
        if !commands.isConnected { return "the broker" }
        if commands.awaitsOtherSession { return "another session to end" }
        if commands.isRepeating { return "session-engine" }
        if header.joins, !isStarted { return "the session to begin" }
        if samples.isInDoubt { return "metrics-aggregator" }
        if locations.isInDoubt { return "route-builder" }
        return isClosed && isAcknowledged ? "the finished workout" : nil
    }
}
