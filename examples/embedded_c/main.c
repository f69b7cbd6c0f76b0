/* A camera's loop in plain C: pictures come in, a network that was compiled ahead of time names what is on them.
   No allocation and no lock inside the loop; nothing to link but libc and libm.

     examples/embedded_c/build fashion.hone     compiles the model, this program, and runs it on its own pictures
     ./camera PICTURES.gray                     raw pictures of 28 x 28 bytes, one after another */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fashion.h"

enum { kPixels = FASHION_INPUT_0_ELEMENTS, kClasses = FASHION_OUTPUT_0_ELEMENTS };

static const char* const kNames[] = {"T-shirt/top", "trouser", "pullover", "dress", "coat",
                                     "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};

/* The next frame of the camera; 0 at the end. Here: a file. */
static int grab(FILE* camera, unsigned char* frame) { return fread(frame, 1, kPixels, camera) == kPixels; }

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

int main(int count, char** arguments) {
  static unsigned char frame[kPixels];
  static float image[kPixels], logits[kClasses];
  const void* inputs[] = {image};
  void* outputs[] = {logits};
  FILE* const camera = count == 2 ? fopen(arguments[1], "rb") : NULL;
  void* const scratch = malloc(fashion_scratch_bytes());
  int frames = 0;
  double longest = 0, total = 0;
  if (!camera || !scratch) {
    fprintf(stderr, "usage: %s PICTURES.gray\n", arguments[0]);
    return 2;
  }
  while (grab(camera, frame)) {
    int best = 0, status, i;
    double begin, spent;
    for (i = 0; i < kPixels; ++i) image[i] = (float)frame[i] / 255.0f; /* the header tells how the model was fed */
    begin = microseconds();
    status = fashion_run(inputs, outputs, 1, scratch);
    spent = microseconds() - begin;
    if (status != FASHION_OK) {
      fprintf(stderr, "fashion_run: status %d\n", status);
      return 1;
    }
    for (i = 1; i < kClasses; ++i)
      if (logits[i] > logits[best]) best = i;
    if (frames < 5) printf("frame %d: %-12s (%.2f)\n", frames, kNames[best], logits[best]);
    if (frames++ == 0) continue; /* the first run touches memory for the first time */
    total += spent;
    if (spent > longest) longest = spent;
  }
  if (frames > 1)
    fprintf(stderr, "%d frames, %.1f us a frame, longest %.1f us\n", frames, total / (frames - 1), longest);
  fclose(camera);
  free(scratch);
  return 0;
}
