import FIT
import Foundation
import Testing
import Workouts

@testable import Formats

/// Each row of the table of activities, from its names to files and back. A new row needs no other test.
struct ActivityTests {
    /// A workout of 20 s at 2 m/s, with a position in each second.
    private func exported(_ activity: Activity, _ environment: Workouts.Environment) throws -> ExportedWorkout {
        let begin = Recording.begin
        let locations = (0...20).map {
            Location(time: begin + Double($0), latitude: 50 + Double($0) * 2e-5, longitude: 8)
        }
        return try PlayedWorkout(
            Recording(
                start: begin, end: begin + 20, segments: [begin...begin + 20], activity: activity,
                environment: environment, samples: [], locations: locations)
        ).exported
    }

    @Test(arguments: Activity.allCases)
    func `a row is complete`(activity: Activity) {
        #expect(!activity.title.isEmpty)
        for environment in Environment.allCases {
            #expect(!activity.defaultName(environment).isEmpty)
            #expect(activity.symbol(environment).hasPrefix("figure."))
        }
        #expect(activity.healthKitActivityType > 0)
        #expect(activity.fit.sport > 0 || activity == .other)
        #expect(["Running", "Biking", "Other"].contains(activity.tcx))
        // Pace and speed need a distance.
        #expect(activity.pace(speed: 3) == nil || activity.restSpeed != nil)
        #expect(activity.figure != .pace || activity.pace(speed: 3) != nil)
        #expect(activity.figure != .speed || activity.restSpeed != nil)
        #expect(activity.restSpeed == nil || activity.healthKitTypes.distance != nil)
    }

    @Test func `titles and HealthKit's types are unique`() {
        #expect(Set(Activity.allCases.map(\.title)).count == Activity.allCases.count)
        #expect(Set(Activity.allCases.map(\.healthKitActivityType)).count == Activity.allCases.count)
    }

    @Test(arguments: Activity.allCases, Environment.allCases)
    func `a FIT file is read back as the same activity`(activity: Activity, environment: Workouts.Environment) throws {
        let bytes = FITExport.bytes(of: try exported(activity, environment))
        let recording = Recording(try FITActivity(try FITFile(bytes)))
        #expect(recording.activity == activity)
        #expect(recording.environment == nil || recording.environment == environment)
    }

    @Test(arguments: Activity.allCases)
    func `TCX and GPX are read back as the same activity, if TCX has it`(activity: Activity) throws {
        let exported = try exported(activity, .outdoor)
        let gpx = try #require(Recording(try XMLRecording(Data(GPXExport.bytes(of: exported))).track))
        #expect(gpx.activity == activity)
        let tcx = try #require(Recording(try XMLRecording(Data(TCXExport.bytes(of: exported))).track))
        #expect(tcx.activity == (activity.tcx == "Other" ? .other : activity))
    }
}
