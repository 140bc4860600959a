/// What a planned workout says of its kind: enough to tell the activity.
package struct WorkoutFocus: Codable, Equatable, Sendable {
    package struct Timer: Codable, Equatable, Sendable {
        package var type: String?
    }

    package var focus: [String]?
    package var equipment: [String]?
    package var timer: Timer?

    package init(focus: [String]? = nil, equipment: [String]? = nil, timer: String? = nil) {
        self.focus = focus
        self.equipment = equipment
        self.timer = timer.map { Timer(type: $0) }
    }

    /// The activity it stands for.
    ///
    /// Running, rowing, cycling or swimming when focus or equipment say so; high-intensity intervals for conditioning
    /// against the clock; otherwise traditional strength training, and `other` when nothing is said at all.
    package var activity: Activity {
        let words = ((focus ?? []) + (equipment ?? [])).map { $0.lowercased() }
        let sports: [(Activity, [String])] = [
            (.running, ["running", "run", "treadmill"]), (.rowing, ["rowing", "row", "rower"]),
            (.cycling, ["cycling", "bike", "bicycle"]), (.swimming, ["swimming", "swim", "pool"]),
        ]
        for (activity, names) in sports where words.contains(where: names.contains) { return activity }
        let isAgainstTheClock = ["interval", "emom", "amrap"].contains(timer?.type?.lowercased() ?? "")
        if isAgainstTheClock, focus?.contains(where: { $0.lowercased() == "conditioning" }) ?? false { return .hiit }
        return words.isEmpty && timer?.type == nil ? .other : .traditionalStrength
    }
}
