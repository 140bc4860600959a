extension SessionState {
    /// Times that results can be computed with: from 1970 to the year 9999.
    private static let times = Timestamp(microseconds: 0)...Timestamp(seconds: 253_402_300_799)

    /// What makes the state impossible, naming the field; `nil` for one that a session can have.
    package var flaw: String? {
        var previous = Self.times.lowerBound
        for (index, segment) in segments.enumerated() {
            let end = segment.end ?? Self.times.upperBound
            guard segment.start >= previous, segment.start <= end, end <= Self.times.upperBound else {
                return "segments: out of range or order"
            }
            guard segment.end != nil || index == segments.count - 1 else { return "segments: only the last is open" }
            previous = end
        }
        if !laps.allSatisfy(Self.times.contains) { return "laps: out of range" }
        if let start = startedAt, !Self.times.contains(start) { return "startedAt: out of range" }
        guard let profile else { return nil }
        let year = profile.birthYear ?? 2000
        guard (1...9999).contains(year) else { return "profile: birthYear: out of range" }
        // The year of birth was judged when the profile was set.
        return profile.flaw(year: year).map { "profile: \($0)" }
    }
}
