import TestSupport
import Testing

@testable import Workouts

@Suite struct HeartRateZonesTests {
    private func profile(_ change: (inout Profile) -> Void) -> Profile {
        var profile = Profile()
        change(&profile)
        return profile
    }

    private func close(_ left: [Double]?, _ right: [Double]) -> Bool {
        guard let left, left.count == right.count else { return false }
        return zip(left, right).allSatisfy { abs($0 - $1) < 1e-9 }
    }

    @Test func `limits come from the profile, else from the threshold, the maximum or the age`() {
        let complete = profile {
            $0.zones = [100, 120, 140, 160]
            $0.maximumHeartRate = 200
        }
        #expect(HeartRateZones(complete, startedAt: year2026)?.limits == [100, 120, 140, 160])
        let threshold = profile {
            $0.thresholdHeartRate = 160
            $0.maximumHeartRate = 200
        }
        #expect(close(HeartRateZones(threshold, startedAt: year2026)?.limits, [108.8, 132.8, 150.4, 168]))
        let maximum = profile {
            $0.maximumHeartRate = 200
            $0.birthYear = 1950
        }
        #expect(close(HeartRateZones(maximum, startedAt: year2026)?.limits, [120, 140, 160, 180]))
        // 208 − 0.7 · 40 = 180
        let born = profile { $0.birthYear = 1986 }
        #expect(close(HeartRateZones(born, startedAt: year2026)?.limits, [108, 126, 144, 162]))
        #expect(HeartRateZones(Profile(), startedAt: year2026) == nil)
    }

    @Test func `seconds in zones are weighted by time and a limit belongs to the zone above`() {
        var physiology = Physiology()
        physiology.zones = HeartRateZones(profile { $0.zones = [100, 120, 140, 160] }, startedAt: year2026)
        let items = [
            sample(0, [.heartRate: 99]), sample(10, [.heartRate: 100]), sample(20, [.heartRate: 170]),
            sample(60, [.heartRate: 150]),
        ]
        let counted = CountedItems(streams: [Device("watch")!: items], segments: [segment(0, 62)])
        #expect(counted.summary(laps: [], units: .metric, physiology: physiology).zones == [10, 10, 0, 2, 15])
        #expect(counted.summary(laps: [], units: .metric).zones == nil)
        let without = CountedItems(streams: [Device("watch")!: [sample(1, [.power: 3])]], segments: [segment(0, 62)])
        #expect(without.summary(laps: [], units: .metric, physiology: physiology).zones == nil)
    }

    @Test func `a moment has its year in UTC`() {
        let times: [(Int64, Int)] = [
            (0, 1970), (-1, 1969), (946_684_799, 1999), (946_684_800, 2000), (951_868_799, 2000),
            (1_767_225_599, 2025), (1_767_225_600, 2026), (1_709_164_800, 2024), (1_735_603_200, 2024),
        ]
        for (seconds, year) in times {
            #expect(Timestamp(microseconds: seconds * 1_000_000).year == year)
        }
    }
}
