import Foundation
import Testing
import Workouts

@Suite struct ProfileTests {
    private func profile(_ change: (inout Profile) -> Void) -> Profile {
        var profile = Profile()
        change(&profile)
        return profile
    }

    /// Accepts both ends of a range and refuses numbers beyond them with the field's name.
    private func expect<Value>(
        _ field: WritableKeyPath<Profile, Value?>, _ name: String, within range: ClosedRange<Value>,
        beyond: [Value]
    ) {
        for value in [range.lowerBound, range.upperBound] {
            #expect(profile { $0[keyPath: field] = value }.validationError(year: 2026) == nil, "\(name) \(value)")
        }
        for value in beyond {
            let error = profile { $0[keyPath: field] = value }.validationError(year: 2026)
            #expect(error?.hasPrefix("\(name): ") == true, "\(name) \(value)")
        }
    }

    @Test func `an empty profile is valid`() {
        #expect(Profile().validationError(year: 2026) == nil)
    }

    @Test func `a number out of range is invalid and the error names its field`() {
        expect(\.birthYear, "birthYear", within: 1906...2026, beyond: [1905, 2027, .min, .max])
        let bounds: [(WritableKeyPath<Profile, Double?>, String, ClosedRange<Double>)] = [
            (\.weight, "weight", 20...400), (\.restingHeartRate, "restingHeartRate", 20...150),
            (\.maximumHeartRate, "maximumHeartRate", 80...250), (\.thresholdHeartRate, "thresholdHeartRate", 60...240),
            (\.thresholdPower, "thresholdPower", 30...1_000),
        ]
        for (field, name, range) in bounds {
            let beyond = [range.lowerBound.nextDown, range.upperBound.nextUp, -1, .infinity, -.infinity, .nan]
            expect(field, name, within: range, beyond: beyond)
        }
    }

    @Test(
        arguments: [
            [], [100], [100, 120, 140], [100, 120, 140, 160, 180], [120, 100, 140, 160], [160, 140, 120, 100],
            [100, 100, 140, 160], [100, 120, 160, 160],
            [19.9, 120, 140, 160], [100, 120, 140, 300.1], [100, 120, .nan, 160], [100, 120, 140, .infinity],
        ] as [[Double]])
    func `zones other than four rising limits are invalid`(zones: [Double]) {
        #expect(profile { $0.zones = zones }.validationError(year: 2026)?.hasPrefix("zones: ") == true)
    }

    @Test(arguments: [[20, 21, 299, 300], [110, 130, 150, 170]] as [[Double]])
    func `four rising limits are valid zones`(zones: [Double]) {
        #expect(profile { $0.zones = zones }.validationError(year: 2026) == nil)
    }
}

@Suite struct ProfileTimeZoneTests {
    @Test(arguments: [
        "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Asia/Calcutta", "Etc/UTC", "UTC", "GMT",
    ])
    func `a zone by area and place or UTC is an IANA zone`(identifier: String) {
        #expect(TimeZone.isIANA(identifier))
    }

    @Test(arguments: [
        "", "GMT+3", "GMT+0300", "UTC+05:00", "PST", "Z", "Europe", "Europe/", "Europe/Atlantis", "europe/berlin",
        " Europe/Berlin", "../../etc/localtime", "Europe/../Europe/Berlin", "/etc/localtime",
    ])
    func `offsets, abbreviations and paths are not IANA zones`(identifier: String) {
        #expect(!TimeZone.isIANA(identifier))
    }
}
