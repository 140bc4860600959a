package import Formats
package import Workouts

extension Text {
    /// The part of a value by which totals may differ without a remark.
    private static let tolerance = 0.01

    /// The totals of a workout that differ from the file's own by more than 1 %, with both figures; `nil` if there are none.
    ///
    /// Files round to whole seconds, kilocalories, metres of ascent and beats: a difference of one is none.
    package static func differences(of workout: WorkoutRecord, from file: RecordedTotals) -> String? {
        func difference(
            _ name: String, _ found: Double?, _ expected: Double?, rounded: Double, _ text: (Double) -> String
        ) -> String? {
            guard let expected, abs((found ?? 0) - expected) > max(rounded, expected * tolerance) else { return nil }
            return "\(name) \(found.map(text) ?? "unknown"), in the file \(text(expected))"
        }
        let differences = [
            difference("distance", workout.distance, file.distance, rounded: 1) { distance($0) },
            difference("time", workout.activeDuration, file.activeTime, rounded: 1) { duration($0) },
            difference("energy", workout.activeEnergy, file.energy, rounded: 1) { "\(Int($0.rounded())) kcal" },
            difference("ascent", workout.ascent, file.ascent, rounded: 1) { "\(Int($0.rounded())) m" },
            difference("average heart rate", workout.averageHeartRate, file.averageHeartRate, rounded: 1) {
                heartRate($0)
            },
        ].compactMap(\.self)
        return differences.isEmpty ? nil : "more than 1 % off: \(differences.joined(separator: "; "))"
    }
}
