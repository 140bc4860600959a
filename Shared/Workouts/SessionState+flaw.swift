/// Times that results can be computed with: from 1970 to the year 9999.
private let times = Timestamp(microseconds: 0)...Timestamp(seconds: 253_402_300_799)

extension SessionState {
    /// What makes the state impossible, naming the field; `nil` for one that a session can have.
    package var flaw: String? {
        if let flaw = segments.flaw { return "segments: \(flaw)" }
        if !laps.allSatisfy(times.contains) { return "laps: out of range" }
        if let start = startedAt, !times.contains(start) { return "startedAt: out of range" }
        guard let profile else { return nil }
        let year = profile.birthYear ?? 2000
        guard (1...9999).contains(year) else { return "profile: birthYear: out of range" }
        // The year of birth was judged when the profile was set.
        return profile.flaw(year: year).map { "profile: \($0)" }
    }
}

extension [Segment] {
    /// Why a session cannot have them; `nil` when it can.
    var flaw: String? {
        var previous = times.lowerBound
        for (index, segment) in enumerated() {
            let end = segment.end ?? times.upperBound
            guard segment.start >= previous, segment.start <= end, end <= times.upperBound else {
                return "out of range or order"
            }
            guard segment.end != nil || index == count - 1 else { return "only the last is open" }
            previous = end
        }
        return nil
    }
}
